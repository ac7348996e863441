"""The pages: what each reads, and how it becomes HTML, once and again while it is open."""
