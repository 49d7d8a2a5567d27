import { basename } from "node:path";

/** A server: a command that starts it, with stdin and stdout as the connection, or a URL. */
export type McpServer =
  | {
      /** The program that starts the server. No shell is used. */
      readonly command: string;
      /** Its arguments. */
      readonly args?: readonly string[];
      /** Added to PATH, HOME and the like: it gets nothing else of our environment. */
      readonly env?: { readonly [name: string]: string };
      /** The folder that it starts in; by default the working directory. */
      readonly cwd?: string;
    }
  | {
      /** The address of the server, for streamable HTTP. */
      readonly url: string | URL;
      /** Sent with every request, such as `Authorization`. */
      readonly headers?: { readonly [name: string]: string };
      /** True if its name may resolve to a private address. An IP address, and `localhost`, may be private anyway. */
      readonly private?: boolean;
    };

export type ServerCommand = Extract<McpServer, { command: string }>;
export type ServerAddress = Extract<McpServer, { url: string | URL }>;

/**
 * For people: the program that is started, or the origin of the URL. Nothing more, since keys may be among the arguments, in
 * the query and in the path.
 */
export function shownServer(server: McpServer): string {
  if ("url" in server) return new URL(server.url).origin;
  const program = basename(server.command);
  const script = scriptOrPackage(program, server.args ?? []);
  return script === undefined ? program : `${program} ${script}`;
}

/** Programs that run the script or package in their arguments. */
const RUNNER =
  /^(?:npx|npm|pnpm|yarn|bunx?|deno|node|uvx?|pipx|python[\d.]*|docker|podman|cmd)(?:\.exe|\.cmd)?$/;
const SCRIPT = /^(?:[A-Za-z]:)?[^\s:=?#&@]+\.(?:[cm]?[jt]s|py|rb|php|sh|jar|dll)$/;
const PACKAGE = /^(?:@[\w.-]+\/)?[A-Za-z][\w.-]*(?:@[\w.^~-]+)?$/;
/** Options without a value, and Python's `-m`, whose value is the module to run. */
const FLAG = /^(?:-y|--yes|-q|--quiet|-m)$/;

/** The argument to run. One that follows any other option may be its value, and a secret. */
function scriptOrPackage(program: string, args: readonly string[]): string | undefined {
  return args.find((arg, index) => {
    if (SCRIPT.test(arg)) return true;
    const previous = args[index - 1] ?? "";
    return RUNNER.test(program) && PACKAGE.test(arg) && (!previous.startsWith("-") || FLAG.test(previous));
  });
}
