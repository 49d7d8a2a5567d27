// A process that exports or imports a run, and kills itself at a step of that.

import { createRequire, syncBuiltinESMExports } from "node:module";
import { exportBundle, importBundle, openStore, type Store } from "../../../../src/index.ts";

export type MoveOrder = {
  readonly act: "export" | "import";
  readonly url: string;
  readonly schema: string | null;
  readonly file: string;
  /** The id of the other store, for an export. */
  readonly to: string;
  readonly step: MoveStep;
};

/** The n-th call of a method of the store, or the rename of the file. */
export type MoveStep = { readonly when: "before" | "after"; readonly what: string; readonly nth: number };

const order = JSON.parse(process.argv[2] ?? "null") as MoveOrder;
const { act, url, schema, file, to, step } = order;
if (step.what === "rename") dieAtRename();
const store = dyingStore(await openStore(url, schema === null ? {} : { schema }));
if (act === "export") await exportBundle(store, "move-1", { file, to });
else await importBundle(store, file);
process.stdout.write("It was not killed.");

function dyingStore(inner: Store): Store {
  let calls = 0;
  return new Proxy(inner, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      const method = member.bind(target) as (...args: unknown[]) => Promise<unknown>;
      if (name !== step.what) return method;
      return async (...args: unknown[]) => {
        calls += 1;
        if (calls === step.nth && step.when === "before") die();
        const result = await method(...args);
        if (calls === step.nth) die();
        return result;
      };
    },
  });
}

function dieAtRename(): void {
  const files = createRequire(import.meta.url)("node:fs/promises") as {
    rename: (from: string, to: string) => Promise<void>;
  };
  const { rename } = files;
  files.rename = async (from, target) => {
    if (step.when === "before") die();
    await rename(from, target);
    die();
  };
  syncBuiltinESMExports();
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  // The signal is delivered asynchronously; this thread must not continue.
  for (;;);
}
