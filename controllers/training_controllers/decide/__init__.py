"""Pure decisions: `decide(snapshot, framework) -> Plan`, one module per policy."""
