// docs/api: one page for each entry of the package, with every name that it exports.

import type { Declaration } from "./declarations.ts";
import type { Entry } from "./entries.ts";
import { codeBlock, GENERATED, wrapped } from "./markdown.ts";

/** One sentence for each entry. A new entry needs one. */
const ENTRIES: { readonly [path: string]: string } = {
  pawl: "Agents, tools, steps, pipelines, the runner and the store.",
  "pawl/ai-sdk": "Chats with `useChat`, UI message streams, the SDK's `Agent`. Needs `ai`.",
  "pawl/chat": "The transport for `useChat` in browsers.",
  "pawl/mcp": "The tools of MCP servers. Needs `@modelcontextprotocol/client`.",
  "pawl/otel": "Traces and metrics for OpenTelemetry. Needs `@opentelemetry/api`.",
  "pawl/prices": "Prices of models, for budgets in dollars.",
  "pawl/restate": "Runs driven by Restate. Needs `@restatedev/restate-sdk`.",
  "pawl/server": "The HTTP API and the dashboard.",
  "pawl/client": "A client of the HTTP API, for browsers, edge runtimes and Node.",
  "pawl/testing": "A scripted model and a fake clock for tests.",
  "pawl/testing/crash": "The crash explorer, which kills an agent at every point.",
  "pawl/testing/store": "The conformance suite for stores.",
  "pawl/tools": "The built-in tools.",
};

const KINDS = ["function", "class", "value", "type"] as const;

type Kind = (typeof KINDS)[number];

const PLURALS: { readonly [K in Kind]: string } = {
  function: "Functions",
  class: "Classes",
  value: "Values",
  type: "Types",
};

type NamedExport = { readonly name: string; readonly kind: Kind; readonly all: readonly Declaration[] };

/** The pages of all entries and their index, by path. */
export function apiPages(entries: readonly Entry[]): ReadonlyMap<string, string> {
  const pages = entries.map((entry) => [`docs/api/${pageName(entry)}`, apiPage(entry)] as const);
  return new Map([["docs/api/README.md", indexPage(entries)], ...pages]);
}

/** The exported names that have no doc comment. */
export function undocumented({ path, names }: Entry): readonly string[] {
  return [...names]
    .filter(([, all]) => all.every(({ doc }) => doc.text === ""))
    .map(([name]) => `${path}: ${name}`);
}

function pageName({ path }: Entry): string {
  return `${path.replaceAll("/", "-")}.md`;
}

function sentenceOf({ path }: Entry): string {
  const sentence = ENTRIES[path];
  if (sentence === undefined)
    throw new Error(`The entry ${path} has no sentence in scripts/docs/api-pages.ts.`);
  return sentence;
}

function indexPage(entries: readonly Entry[]): string {
  const lines = entries.map((entry) => `- [\`${entry.path}\`](${pageName(entry)}): ${sentenceOf(entry)}`);
  const about =
    "Every name that the package exports, by import path. [configuration.md](../configuration.md) lists options.";
  return [GENERATED, "", "# API", "", about, "", ...lines, ""].join("\n");
}

function apiPage(entry: Entry): string {
  const exported = [...entry.names]
    .map(([name, all]): NamedExport => ({ name, kind: kindOf(name, all), all }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const groups = KINDS.map((kind) => ({ kind, members: exported.filter((each) => each.kind === kind) }));
  const sections = groups
    .filter(({ members }) => members.length > 0)
    .flatMap(({ kind, members }) => [
      `## ${PLURALS[kind]}`,
      wrapped(members.map(({ name }) => `[${name}](#${anchorOf(name, kind)})`).join(" · ")),
      ...members.map(nameSection),
    ]);
  return `${[GENERATED, `# \`${entry.path}\``, sentenceOf(entry), ...sections].join("\n\n")}\n`;
}

function anchorOf(name: string, kind: Kind): string {
  return `${name.toLowerCase()}-${kind}`;
}

function nameSection({ name, kind, all }: NamedExport): string {
  const texts = all.map(({ doc }) => doc.text).filter((text) => text !== "");
  const examples = all.flatMap(({ doc }) => doc.examples);
  return [
    `### \`${name}\` (${kind})`,
    ...texts.map(wrapped),
    codeBlock(all.map(signatureOf).join("\n")),
    ...(examples.length === 0 ? [] : ["Example:", ...examples.map(codeBlock)]),
  ].join("\n\n");
}

const KIND_OF_NODE: { readonly [type: string]: Kind } = {
  TSDeclareFunction: "function",
  ClassDeclaration: "class",
  VariableDeclaration: "value",
  TSInterfaceDeclaration: "type",
  TSTypeAliasDeclaration: "type",
};

function kindOf(name: string, [first]: readonly Declaration[]): Kind {
  const kind = first === undefined ? undefined : KIND_OF_NODE[first.node.type];
  if (kind === undefined) throw new Error(`${name} is exported, and its declaration was not found.`);
  return kind;
}

function signatureOf({ file, node }: Declaration): string {
  return file.source
    .slice(node.start, node.end)
    .replace(/^declare /, "")
    .replace(/^ {4}(?:#private|private .*);\n/gm, "");
}
