import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { StoreUnavailableError } from "../../../core/errors.ts";
import { openStore } from "../../../store/open-store.ts";
import { SqliteStore } from "../../../store/sqlite/sqlite-store.ts";
import type { Store } from "../../../store/store.ts";
import type {
  CrashDatabase,
  LiveCondition,
  MachineClocks,
  ProcessClock,
  ProcessStore,
  StoreActivity,
  WorldAddress,
  WorldDatabase,
} from "./crash-database.ts";
import { simulatedDoorbell } from "./simulated-doorbell.ts";

/** SQLite files: an empty one is made in this folder, and copied into the folder of each world. */
export async function sqliteWorlds(folder: string): Promise<CrashDatabase> {
  const template = join(folder, "empty.db");
  await (await openStore(`file:${template}`)).close();
  return {
    kind: "sqlite",
    newWorld: (world) => {
      copyFileSync(template, databaseIn(world));
      return Promise.resolve(new SqliteWorld(world));
    },
    remove: () => {
      rmSync(template, { force: true });
      return Promise.resolve();
    },
  };
}

/** The file of one world. The simulated processes have simulated doorbells; real processes have real ones. */
export class SqliteWorld implements WorldDatabase {
  readonly kind = "sqlite";
  readonly address: WorldAddress = { kind: "sqlite" };
  readonly #folder: string;
  readonly #doorbell: Pick<NonNullable<Parameters<typeof SqliteStore.open>[1]>, "doorbell">;

  constructor(folder: string, { isReal = false }: { readonly isReal?: boolean } = {}) {
    this.#folder = folder;
    this.#doorbell = isReal ? {} : { doorbell: simulatedDoorbell() };
  }

  observe(clocks: MachineClocks): Promise<Store> {
    return openStore(`file:${databaseIn(this.#folder)}`, { ...clocks, ...this.#doorbell });
  }

  async open(
    clocks: MachineClocks & ProcessClock,
    _activity: StoreActivity,
    live: LiveCondition = "works",
  ): Promise<ProcessStore> {
    // A folder in its place: it can be neither opened nor replaced.
    if (live === "fails") mkdirSync(`${databaseIn(this.#folder)}-live`, { recursive: true });
    const store = await SqliteStore.open(databaseIn(this.#folder), { ...clocks, ...this.#doorbell });
    let isDiskFull = false;
    return {
      store,
      beforeWrite: (intent) => {
        // A sent mark goes into space that its file already has.
        if (isDiskFull && intent !== "beginEffect") throw diskFull();
      },
      fail: () => {
        isDiskFull = true;
      },
      recover: () => {
        isDiskFull = false;
      },
      vanish: () => store.vanish(),
    };
  }

  /** From a copy: opening the database itself would start the recovery of the dead process's runs. */
  async read<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const copyFolder = join(this.#folder, "copy");
    mkdirSync(copyFolder);
    const [database, copy] = [databaseIn(this.#folder), databaseIn(copyFolder)];
    for (const suffix of ["", "-wal"])
      if (existsSync(`${database}${suffix}`)) copyFileSync(`${database}${suffix}`, `${copy}${suffix}`);
    const store = await openStore(`file:${copy}`);
    try {
      return await work(store);
    } finally {
      await store.close();
      rmSync(copyFolder, { recursive: true, force: true });
    }
  }

  /** It is removed with the folder. */
  remove(): Promise<void> {
    return Promise.resolve();
  }
}

function databaseIn(folder: string): string {
  return join(folder, "pawl.db");
}

function diskFull(): StoreUnavailableError {
  return new StoreUnavailableError("The simulated disk is full: nothing was written.", { reason: "full" });
}
