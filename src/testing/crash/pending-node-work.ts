/** True while code waits for its own file access or yields to the event loop: it continues, however many turns that takes. */
export function hasPendingNodeWork(): boolean {
  return process.getActiveResourcesInfo().some((resource) => PENDING_NODE_WORK.has(resource));
}

/** Node's names of such resources. */
const PENDING_NODE_WORK: ReadonlySet<string> = new Set([
  "FSReqPromise",
  "FSReqCallback",
  "CloseReq",
  "Immediate",
]);
