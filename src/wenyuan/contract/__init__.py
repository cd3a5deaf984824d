"""What requests are made of: types of fields that the service, HTTP, MCP and the command line share."""
