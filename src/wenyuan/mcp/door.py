"""What the audit calls the door of the Model Context Protocol."""

DOOR = "mcp"
