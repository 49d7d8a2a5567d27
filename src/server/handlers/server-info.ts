import { commandLine } from "../../account/command-line.ts";
import { type Health, ok } from "../../account/health/health.ts";
import { storeHealth } from "../../account/health/store-health.ts";
import { isoTime } from "../../export/figures.ts";
import type { Handlers } from "../handler.ts";
import { HttpProblem } from "../http-problem.ts";
import type { Principal } from "../principal.ts";
import { isWhole } from "../scope/run-scope.ts";
import { OneAtATime } from "./one-at-a-time.ts";
import type { ServerParts } from "./server-parts.ts";

/** The server itself, and its store. */
export function serverHandlers(parts: ServerParts): Handlers<"getServer" | "getDoctor" | "checkIntegrity"> {
  const { store, clock, version, instance, storeName, hasWorker, isReadOnly, openStreams } = parts;
  const startedAt = isoTime(clock.now());
  const checks = new OneAtATime(
    (what) => `The ${what} is being checked already: ask again when that is done.`,
  );
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

    getDoctor: async (_, { principal }) => {
      assertSeesAll(principal);
      const found = await checks.run("installation", () => installationHealth(parts));
      return { status: 200, body: { checks: found, checkedAt: isoTime(clock.now()) } };
    },

    checkIntegrity: async (_, { principal }) => {
      assertSeesAll(principal);
      const problems = await checks.run("database", () => store.checkIntegrity());
      return { status: 200, body: { problems, checkedAt: isoTime(clock.now()) } };
    },
  };
}

/**
 * What `pawl doctor` checks, as far as a server can: it executes no configuration, and reads all of the database only when
 * `checkIntegrity` asks for that.
 */
async function installationHealth(parts: ServerParts): Promise<Health[]> {
  const { store, storeName, workFolders, clock } = parts;
  return [
    ok("node", process.versions.node),
    ...(await storeHealth({
      store,
      name: storeName,
      database: await store.inspectDatabase(),
      readsAll: false,
      workFolders,
      hint: commandLine,
      now: clock.now(),
    })),
  ];
}

/** Such a check reads the runs of everybody. */
function assertSeesAll({ scope }: Principal): void {
  if (!isWhole(scope))
    throw new HttpProblem(
      403,
      "scope_too_narrow",
      "The check reads the whole database, and you see a part of it: ask a person who sees all.",
    );
}
