// docs/http-api.md, from the route table.

import { z } from "zod";
import { OPERATIONS, type OperationId } from "../../src/server/api/operations.ts";
import { type Route, routes } from "../../src/server/api/routes.ts";
import { table, wrapped } from "./markdown.ts";
import { TAGS } from "./openapi-document.ts";

const HEAD = `# HTTP API

<!-- Written by \`npm run docs\` from src/server/api: change that, and run it again. -->

What \`pawl serve\` and \`createHandler\` of \`pawl/server\` answer. [server.md](server.md) says how to run it and who may
call it. [openapi.json](openapi.json) is the same as an OpenAPI 3.1 document, for generators of clients;
\`pawl/client\` is one for TypeScript.

- Each id in a path is one percent-encoded segment: ids have \`/\`, \`#\` and \`~\` in them.
- Times are ISO 8601, except in what the engine has recorded: events of \`watchRun\`, the \`facts\` of events in logs, and
  timelines have milliseconds since 1970. Money is in millionths of a dollar. Hashes are hex.
- A list is \`{ items, nextCursor, asOf }\`. Give \`nextCursor\` as \`cursor\`, with the same filters, for the next page.
- An error is a problem by RFC 9457, with a \`code\` that is stable and a \`detail\` that says what to do.
- Roles: \`viewer\` reads, \`operator\` acts on runs, \`admin\` also manages tokens and reads the audit log.
`;

export function httpApiPage(): string {
  const ids = Object.keys(OPERATIONS) as OperationId[];
  const sections = [...Map.groupBy(ids, (id) => routes[id].tag)].map(([tag, grouped]) =>
    [`## ${tag[0]?.toUpperCase()}${tag.slice(1)}`, TAGS[tag], ...grouped.map(operationText)].join("\n\n"),
  );
  return `${[HEAD.trim(), ...sections].join("\n\n")}\n`;
}

function operationText(id: OperationId): string {
  const route: Route & (typeof OPERATIONS)[OperationId] = routes[id];
  const rows = [
    ["may call it", route.role],
    ["query", queryText(route.query)],
    [
      "headers",
      Object.keys(route.headers?.shape ?? {})
        .map(code)
        .join(", "),
    ],
    ["body", route.body === undefined ? "" : nameOf(route.body)],
    [
      "answers",
      Object.entries(route.answers)
        .map(([status, answer]) => `${status} ${answerText(answer)}`)
        .join("; "),
    ],
    [
      "problems",
      Object.entries(route.problems ?? {})
        .map(([status, what]) => `${status}: ${what}`)
        .join(" "),
    ],
  ].filter(([, text]) => text !== "");
  const what = `${code(`${route.method} ${route.path}`)}: ${lowered(route.summary)}.`;
  return [`### \`${id}\``, wrapped(what), table(["", ""], rows)].join("\n\n");
}

function lowered(text: string): string {
  return `${text[0]?.toLowerCase()}${text.slice(1)}`;
}

function queryText(query: z.ZodObject | undefined): string {
  return Object.entries(query?.shape ?? {})
    .map(([name, schema]) => {
      const { description } = z.globalRegistry.get(schema as z.ZodType) ?? {};
      return description === undefined ? code(name) : `${code(name)} (${description.replace(/\.$/, "")})`;
    })
    .join(", ");
}

function answerText(answer: Route["answers"][number]): string {
  if (typeof answer !== "string") return nameOf(answer);
  return { bytes: "bytes", stream: "server-sent events", empty: "nothing" }[answer];
}

function nameOf(schema: z.ZodType): string {
  const { id } = z.globalRegistry.get(schema) ?? {};
  if (typeof id === "string") return code(id);
  return schema instanceof z.ZodObject ? code(`{ ${Object.keys(schema.shape).join(", ")} }`) : "any JSON";
}

function code(text: string): string {
  return `\`${text}\``;
}
