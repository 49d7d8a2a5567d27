import type * as McpClientPackage from "@modelcontextprotocol/client";
import type * as McpStdioPackage from "@modelcontextprotocol/client/stdio";
import { ConfigurationError } from "../../core/errors.ts";

export type McpPackage = typeof McpClientPackage & Pick<typeof McpStdioPackage, "getDefaultEnvironment">;

const NAME = "@modelcontextprotocol/client";
const ADVICE = `run \`npm install ${NAME}@2\` beside pawl.`;

let loaded: McpPackage | undefined;

/** Imports the MCP client on first use: it is an optional peer dependency. */
export async function loadMcp(): Promise<McpPackage> {
  loaded ??= checkVersion(await importMcp());
  return loaded;
}

async function importMcp(): Promise<McpPackage> {
  try {
    const [client, { getDefaultEnvironment }] = await Promise.all([
      import("@modelcontextprotocol/client"),
      import("@modelcontextprotocol/client/stdio"),
    ]);
    return { ...client, getDefaultEnvironment };
  } catch (error) {
    throw new ConfigurationError(
      `mcpTools needs the package "${NAME}", which could not be loaded: ${ADVICE}`,
      { package: NAME },
      { cause: error },
    );
  }
}

/** Checks for the newest of the exports that are used. */
function checkVersion(mcp: McpPackage): McpPackage {
  if (typeof mcp.deserializeMessage === "function" && typeof mcp.SdkHttpError === "function") return mcp;
  throw new ConfigurationError(`mcpTools needs version 2 of the package "${NAME}": ${ADVICE}`, {
    package: NAME,
  });
}
