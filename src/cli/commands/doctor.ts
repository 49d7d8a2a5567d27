import { existsSync } from "node:fs";
import { diskHealth, placeHealth } from "../../account/health/file-health.ts";
import { failed, type Health, ok } from "../../account/health/health.ts";
import { postgresHealth } from "../../account/health/postgres-health.ts";
import { storeHealth } from "../../account/health/store-health.ts";
import { openStore } from "../../store/open-store.ts";
import { isPostgres } from "../../store/postgres-address.ts";
import type { ServerReport, Store } from "../../store/store.ts";
import { assertNotMoved } from "../../store/store-home.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command, CommandInput } from "../context/command.ts";
import { commandHint } from "../context/command-hint.ts";
import { cleanLine, pad, wrap } from "../context/terminal-text.ts";
import { fileOfStore, redactionKeyIn, shownAddress, storeAddress } from "../run/command-store.ts";
import { checkConfig } from "../run/config-health.ts";
import { type KnownFolders, knownFolders } from "../run/known-folders.ts";
import { packageHealth } from "../run/package-health.ts";
import { paint, paintStatus } from "../screen/format.ts";

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
      ...(await storeChecks(context, input)),
    ];
    return {
      exitCode: checks.some(({ status }) => status === "fail") ? 1 : 0,
      document: { checks },
      text: checks.map((check) => checkText(context, check)).join(""),
    };
  },
};

/** The checks of the store and its content, as far as it can be opened. */
async function storeChecks(context: CliContext, input: CommandInput): Promise<readonly Health[]> {
  let url: string;
  try {
    url = await storeAddress(context, input);
  } catch (error) {
    return [failed("store", error)];
  }
  if (isPostgres(url)) return serverChecks(context, input, url);
  const file = fileOfStore(url);
  const folders = await knownFolders(context, input);
  if (file !== null && !existsSync(file))
    return [missingStore(file), await diskHealth(file), await placeHealth(file, folders([]))];
  try {
    return await openChecks(context, input, { url, readsAll: true, folders }, await openStore(url));
  } catch (error) {
    return [failed("store", error), ...(file === null ? [] : [await diskHealth(file)])];
  }
}

/** The checks of a PostgreSQL server, and of the runs if the store can be opened. It creates and changes nothing. */
async function serverChecks(
  context: CliContext,
  input: CommandInput,
  url: string,
): Promise<readonly Health[]> {
  let server: ServerReport;
  try {
    const { reportOnServer } = await import("../../store/postgres/server-report.ts");
    server = await reportOnServer(url);
    if (server.schemaVersion === 0) return postgresHealth(server);
  } catch (error) {
    return [failed("store", error)];
  }
  try {
    const store = await openStore(url, { readOnly: true, ...redactionKeyIn(context, url) });
    return await openChecks(context, input, { url, readsAll: false, server }, store);
  } catch (error) {
    return [failed("store", error), ...postgresHealth(server)];
  }
}

type OpenedStore = {
  readonly url: string;
  readonly readsAll: boolean;
  readonly folders?: KnownFolders;
  /** If the server was asked already. */
  readonly server?: ServerReport;
};

/** The checks of a store that is open, which is closed afterwards. */
async function openChecks(
  context: CliContext,
  input: CommandInput,
  { url, readsAll, folders = () => [], server }: OpenedStore,
  store: Store,
): Promise<readonly Health[]> {
  try {
    return await storeHealth({
      store,
      name: shownAddress(url),
      database: server === undefined ? await store.inspectDatabase() : { database: "postgres", server },
      readsAll,
      workFolders: folders,
      hint: (...words) => commandHint(input, ...words),
      now: context.clock.now(),
    });
  } finally {
    await store.close();
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
