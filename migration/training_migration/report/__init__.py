"""What users and programs are shown: texts, tables, JSON, pieces of an HTML page."""
