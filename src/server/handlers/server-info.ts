import { isoTime } from "../../export/figures.ts";
import type { Handlers } from "../handler.ts";
import { HttpProblem } from "../http-problem.ts";
import { isWhole } from "../scope/run-scope.ts";
import { OneAtATime } from "./one-at-a-time.ts";
import type { ServerParts } from "./server-parts.ts";

/** The server itself, and its store. */
export function serverHandlers({
  store,
  clock,
  version,
  instance,
  storeName,
  hasWorker,
  isReadOnly,
  openStreams,
}: ServerParts): Handlers<"getServer" | "checkIntegrity"> {
  const startedAt = isoTime(clock.now());
  const checks = new OneAtATime(() => "The database is being checked already: ask again when that is done.");
  return {
    getServer: async () => ({
      status: 200,
      body: {
        version,
        instance,
        startedAt,
        now: isoTime(clock.now()),
        store: { name: storeName, ...(await store.describeStore()) },
        streams: openStreams(),
        hasWorker,
        isReadOnly,
      },
    }),

    checkIntegrity: async (_, { principal }) => {
      // It reads the runs of everybody.
      if (!isWhole(principal.scope))
        throw new HttpProblem(
          403,
          "scope_too_narrow",
          "The check reads the whole database, and you see a part of it: ask a person who sees all.",
        );
      const problems = await checks.run("database", () => store.checkIntegrity());
      return { status: 200, body: { problems, checkedAt: isoTime(clock.now()) } };
    },
  };
}
