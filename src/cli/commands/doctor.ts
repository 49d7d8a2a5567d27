import { existsSync } from "node:fs";
import { StoreUnavailableError } from "../../core/errors.ts";
import { openStore } from "../../store/open-store.ts";
import { isPostgres } from "../../store/postgres-address.ts";
import type { Store } from "../../store/store.ts";
import { assertNotMoved } from "../../store/store-home.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput } from "../context/command.ts";
import { cleanLine, pad, wrap } from "../context/terminal-text.ts";
import { fileOfStore, redactionKeyIn, shownAddress, storeAddress } from "../run/command-store.ts";
import {
  checkConfig,
  databaseHealth,
  diskHealth,
  failed,
  type Health,
  ok,
  rightsHealth,
  runHealth,
} from "../run/health-checks.ts";
import { packageHealth } from "../run/package-health.ts";
import { queueHealth } from "../run/queue-health.ts";
import { locationHealth } from "../run/store-location.ts";
import { paint, paintStatus } from "../screen/format.ts";

/** How many of the newest runs are checked for the folder they work in. */
const MAX_RUN_FOLDERS = 100;

export const doctor: Command = {
  name: "doctor",
  summary: "Check the installation and the store, and suggest fixes",
  arguments: [],
  options: [{ flags: "--load-config", summary: "also execute the configuration and check its content" }],
  example: "pawl doctor",
  execute: async (context, input) => {
    const { health, config } = await checkConfig(context, input);
    const checks = [
      ok("node", process.versions.node),
      health,
      await packageHealth(config),
      ...(await storeHealth(context, input)),
    ];
    return {
      exitCode: checks.some(({ status }) => status === "fail") ? 1 : 0,
      document: { checks },
      text: checks.map((check) => checkText(context, check)).join(""),
    };
  },
};

/** The checks of the store and its content, as far as it can be opened. */
async function storeHealth(context: CliContext, input: CommandInput): Promise<readonly Health[]> {
  let url: string;
  try {
    url = await storeAddress(context, input);
  } catch (error) {
    return [failed("store", error)];
  }
  if (isPostgres(url)) return serverHealth(context, input, url);
  const file = fileOfStore(url);
  if (file !== null && !existsSync(file))
    return [missingStore(file), await diskHealth(file), await locationHealth(context, input, file, [])];
  const disk = file === null ? [] : [await diskHealth(file)];
  try {
    const store = await openStore(url);
    try {
      // Opening the store checks both, and fails if one does not hold.
      const durable = ok("durability", "journal_mode WAL and synchronous FULL hold");
      const runs = [
        await databaseHealth(store),
        ...(await runHealth(store, input, context.clock.now())),
        await queueHealth(store),
      ];
      const place =
        file === null
          ? []
          : [
              await rightsHealth(file),
              await locationHealth(context, input, file, await store.listRuns({ limit: MAX_RUN_FOLDERS })),
            ];
      return [
        ok("store", shownAddress(url)),
        await identityHealth(store),
        ...disk,
        ...place,
        ...(file === null ? [] : [durable]),
        ...runs,
      ];
    } finally {
      await store.close();
    }
  } catch (error) {
    return [failed("store", error), ...disk];
  }
}

/** Bundles of runs name their target by it. A database that is only read here may have none yet. */
async function identityHealth(store: Store): Promise<Health> {
  try {
    return ok("store id", await store.storeId());
  } catch (error) {
    if (!StoreUnavailableError.isInstance(error)) throw error;
    return ok("store id", "none yet: `pawl migrate` gives it one");
  }
}

/** The checks of a PostgreSQL server, and of the runs if the store can be opened. It creates and changes nothing. */
async function serverHealth(
  context: CliContext,
  input: CommandInput,
  url: string,
): Promise<readonly Health[]> {
  let server: readonly Health[];
  try {
    const { reportOnServer } = await import("../../store/postgres/server-report.ts");
    const { postgresHealth } = await import("../run/postgres-health.ts");
    const report = await reportOnServer(url);
    server = postgresHealth(report);
    if (report.schemaVersion === 0) return server;
  } catch (error) {
    return [failed("store", error)];
  }
  try {
    const store = await openStore(url, { readOnly: true, ...redactionKeyIn(context, url) });
    try {
      return [
        ok("store", shownAddress(url)),
        await identityHealth(store),
        ...server,
        ...(await runHealth(store, input, context.clock.now())),
        await queueHealth(store),
      ];
    } finally {
      await store.close();
    }
  } catch (error) {
    return [failed("store", error), ...server];
  }
}

function missingStore(file: string): Health {
  try {
    assertNotMoved(file);
    return ok("store", `none at ${file} yet: the first run creates it`);
  } catch (error) {
    return failed("store", error);
  }
}

const NAME_COLUMNS = 10;
const STATUS_COLUMNS = 4;

function checkText(context: CliContext, { name, status, what, remedy }: Health): string {
  const paints = paint(context);
  const lead = STATUS_COLUMNS + NAME_COLUMNS + 4;
  const room = Math.max(8, context.stdout.columns - lead);
  const blank = " ".repeat(lead);
  const lines = [
    ...wrap(cleanLine(what), room),
    ...(remedy === null ? [] : wrap(cleanLine(`→ ${remedy}`), room)),
  ];
  const head = `${paintStatus(paints, status, pad(status, STATUS_COLUMNS))}  ${pad(name, NAME_COLUMNS)}  `;
  return lines.map((line, index) => `${index === 0 ? head : blank}${line}\n`).join("");
}
