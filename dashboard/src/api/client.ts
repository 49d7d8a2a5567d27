// The dashboard reads and acts through `pawl/client`, as any other page would.

export {
  createClient,
  type OperationResult as Answer,
  type PawlClient as Client,
  PawlProblem,
  type WatchedEvent,
} from "../../../src/client/client.ts";
export { operationAddress, requester } from "../../../src/client/request.ts";
