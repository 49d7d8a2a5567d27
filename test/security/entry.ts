// The parts of Pawl that an attack uses: what a user imports, from one copy of the sources.

export * as mcp from "../../src/adapters/mcp/mcp.ts";
export * as tools from "../../src/adapters/tools/index.ts";
export * as pawl from "../../src/index.ts";
export * as testing from "../../src/testing/index.ts";
