import type { Json } from "../../core/json.ts";
import { withoutContent, withoutEventContent } from "../access/hidden-content.ts";
import type { Route } from "../api/routes.ts";
import { liveEvent } from "../api/schemas/live.ts";
import { HttpProblem } from "../http-problem.ts";
import type { DocumentAnswer } from "./operation-answer.ts";

/** Bytes have no shape that could be shown in their place. */
export function assertNoBytes(route: Route): void {
  if (route.answers[200] !== "bytes") return;
  throw new HttpProblem(
    403,
    "content_hidden",
    "Contents are hidden from viewers here: ask an operator for this file.",
  );
}

/** The answer for people who see no contents. */
export function hiddenDocument(route: Route, answer: DocumentAnswer): DocumentAnswer {
  const schema = route.answers[answer.status];
  if (schema === undefined || typeof schema === "string") return answer;
  return { ...answer, body: withoutContent(schema, answer.body), headers: withOwnTag(answer.headers ?? {}) };
}

/** Another document is another version: a browser that has kept the whole one, for a person before, must not show that. */
function withOwnTag({
  etag,
  ...headers
}: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return etag === undefined ? headers : { ...headers, etag: etag.replace('"', '"hidden-') };
}

/** The same for a stream of server-sent events: each `data:` line is one JSON document. */
export function hiddenStream(response: Response): Response {
  if (response.body === null) return response;
  let name = "";
  let rest = "";
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const hide = new TransformStream<Uint8Array, Uint8Array>({
    transform: (piece, controller) => {
      const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      const shown = lines.map((line) => {
        if (line.startsWith("event: ")) name = line.slice(7);
        if (line === "") name = "";
        return line.startsWith("data: ") ? `data: ${hiddenData(name, line.slice(6))}` : line;
      });
      if (shown.length > 0) controller.enqueue(encoder.encode(`${shown.join("\n")}\n`));
    },
  });
  return new Response(response.body.pipeThrough(hide), response);
}

function hiddenData(event: string, data: string): string {
  const value = JSON.parse(data) as Json;
  const live = liveEvent.options.find(({ shape }) => shape.event.value === event);
  const hidden = live === undefined ? withoutEventContent(value) : withoutContent(live.shape.data, value);
  return JSON.stringify(hidden);
}
