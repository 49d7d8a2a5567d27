// A stdio server that supports only the later revision of the protocol.

import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

serveStdio(
  () => {
    const server = new McpServer({ name: "modern", version: "1" });
    server.registerTool("get_meta", { description: "What came with the call." }, (ctx) => ({
      content: [{ type: "text", text: JSON.stringify(ctx.mcpReq._meta) }],
    }));
    return server;
  },
  { legacy: "reject" },
);
