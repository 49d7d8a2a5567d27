import type { RunFilter, ShownStatus } from "../../store/store.ts";
import { HttpProblem } from "../http-problem.ts";
import type { AccessScope } from "../principal.ts";

/** The filters of a list of runs, as a request gives them. */
export type RunQuery = {
  readonly status?: readonly ShownStatus[] | undefined;
  readonly pipeline?: readonly string[] | undefined;
  readonly queue?: string | undefined;
  readonly where?: readonly string[] | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly needs?: "person" | undefined;
  readonly toolError?: string | undefined;
};

/** The filter of the store for what is asked for, inside of the scope; null if no run can be both. */
export function runFilterIn(scope: AccessScope, query: RunQuery = {}): RunFilter | null {
  const pipelines = pipelinesIn(scope, query.pipeline);
  const metadata = metadataIn(scope, query.where ?? []);
  if (pipelines?.length === 0 || metadata === null) return null;
  const { status, queue, since, until, needs, toolError } = query;
  return {
    ...(status === undefined ? {} : { status }),
    ...(pipelines === undefined ? {} : { pipelines }),
    ...(queue === undefined ? {} : { queue }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(since === undefined ? {} : { createdSince: Date.parse(since) }),
    ...(until === undefined ? {} : { createdBefore: Date.parse(until) }),
    ...(needs === undefined ? {} : { needsPerson: true }),
    ...(toolError === undefined ? {} : { toolError }),
  };
}

/** The pipelines that are both asked for and in the scope; undefined for all. */
export function pipelinesIn(
  scope: AccessScope,
  asked: readonly string[] | undefined,
): readonly string[] | undefined {
  const { pipelines } = scope;
  if (pipelines === null) return asked;
  return asked === undefined ? pipelines : pipelines.filter((each) => asked.includes(each));
}

/** The labels of the scope and those that are asked for; null if they contradict each other. */
function metadataIn(
  { labels }: AccessScope,
  where: readonly string[],
): { readonly [name: string]: string } | null {
  const found = new Map(Object.entries(labels ?? {}));
  for (const text of where) {
    const [name, value] = labelOf(text);
    const known = found.get(name) ?? value;
    if (known !== value) return null;
    found.set(name, value);
  }
  return Object.fromEntries(found);
}

function labelOf(text: string): readonly [name: string, value: string] {
  const end = text.indexOf("=");
  if (end > 0) return [text.slice(0, end), text.slice(end + 1)];
  throw new HttpProblem(
    400,
    "where_invalid",
    `The filter where=${text} has no name and value: write where=tenant=acme.`,
  );
}
