import { existsSync, writeFileSync } from "node:fs";
import type { Doorbell } from "../../store/sqlite/owner-lock.ts";

/** The processes of a simulated machine share a real one, and a real socket answers when the system has the time. */
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
