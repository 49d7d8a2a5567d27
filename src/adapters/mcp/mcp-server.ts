import { basename } from "node:path";

/** Where a server is: a command that starts it and is spoken to by its input and output, or an address. */
export type McpServer =
  | {
      readonly command: string;
      readonly args?: readonly string[];
      /** Beside PATH, HOME and the like: it gets nothing else of our environment. */
      readonly env?: { readonly [name: string]: string };
      readonly cwd?: string;
    }
  | {
      readonly url: string | URL;
      /** Go with every request, such as `Authorization`. */
      readonly headers?: { readonly [name: string]: string };
      /** Whether its name may have a private address. An address, and `localhost`, may be private anyway. */
      readonly private?: boolean;
    };

export type ServerCommand = Extract<McpServer, { command: string }>;
export type ServerAddress = Extract<McpServer, { url: string | URL }>;

/**
 * For people: which program is started, or where the server is. No more, for keys stand among the arguments, in the query and
 * in the path.
 */
export function shownServer(server: McpServer): string {
  if ("url" in server) return new URL(server.url).origin;
  const program = basename(server.command);
  const what = whatIsRun(program, server.args ?? []);
  return what === undefined ? program : `${program} ${what}`;
}

/** Programs that run what their arguments name. */
const RUNNER =
  /^(?:npx|npm|pnpm|yarn|bunx?|deno|node|uvx?|pipx|python[\d.]*|docker|podman|cmd)(?:\.exe|\.cmd)?$/;
const SCRIPT = /^(?:[A-Za-z]:)?[^\s:=?#&@]+\.(?:[cm]?[jt]s|py|rb|php|sh|jar|dll)$/;
const PACKAGE = /^(?:@[\w.-]+\/)?[A-Za-z][\w.-]*(?:@[\w.^~-]+)?$/;
/** Options without a value, and the one of Python whose value is what is run. */
const FLAG = /^(?:-y|--yes|-q|--quiet|-m)$/;

/** What follows another option may be its value, and a secret. */
function whatIsRun(program: string, args: readonly string[]): string | undefined {
  return args.find((arg, index) => {
    if (SCRIPT.test(arg)) return true;
    const previous = args[index - 1] ?? "";
    return RUNNER.test(program) && PACKAGE.test(arg) && (!previous.startsWith("-") || FLAG.test(previous));
  });
}
