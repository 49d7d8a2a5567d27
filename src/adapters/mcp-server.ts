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
    };

export type ServerCommand = Extract<McpServer, { command: string }>;
export type ServerAddress = Extract<McpServer, { url: string | URL }>;

const LONGEST_SHOWN = 120;

/** For people: what is started, or where it is. Keys are often given in a query, and names in the address. */
export function shownServer(server: McpServer): string {
  if ("url" in server) {
    const { origin, pathname } = new URL(server.url);
    return `${origin}${pathname}`;
  }
  const words = [server.command, ...(server.args ?? []).map(withoutSecret)].join(" ");
  return words.length <= LONGEST_SHOWN ? words : `${words.slice(0, LONGEST_SHOWN)}…`;
}

const SECRET_OPTION = /^--?[\w-]*(?:key|token|secret|password|auth)[\w-]*$/i;

/** `--api-key=k-123` and `--api-key k-123` are how some servers want theirs. */
function withoutSecret(arg: string, index: number, args: readonly string[]): string {
  const [option = "", ...value] = arg.split("=");
  if (value.length > 0 && SECRET_OPTION.test(option)) return `${option}=…`;
  return SECRET_OPTION.test(args[index - 1] ?? "") ? "…" : arg;
}
