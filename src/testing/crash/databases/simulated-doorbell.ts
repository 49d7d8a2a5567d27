import { existsSync, writeFileSync } from "node:fs";
import type { Doorbell } from "../../../store/sqlite/owner-lock.ts";

/** In memory: the simulated processes share one real process, and a real socket would answer at an unpredictable time. */
export function simulatedDoorbell(): Doorbell {
  const listening = new Set<string>();
  return {
    listen: (file) => {
      writeFileSync(file, "");
      listening.add(file);
      return Promise.resolve({
        close: () => {
          listening.delete(file);
          return Promise.resolve();
        },
      });
    },
    ring: (file) => {
      if (!existsSync(file)) return Promise.resolve("unclear");
      return Promise.resolve(listening.has(file) ? "accepted" : "refused");
    },
  };
}
