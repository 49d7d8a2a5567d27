import type { AccessScope } from "../principal.ts";

/** True if every run of the inner scope is in the outer one too. */
export function isWithin(inner: AccessScope, outer: AccessScope): boolean {
  const hasPipelines =
    outer.pipelines === null ||
    (inner.pipelines !== null && inner.pipelines.every((each) => outer.pipelines?.includes(each) === true));
  const labels = Object.entries(outer.labels ?? {});
  return hasPipelines && labels.every(([name, value]) => inner.labels?.[name] === value);
}
