import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** Used as the boot id on a system that has none. */
export const NO_BOOT = "00000000";

let known: string | undefined;

/**
 * This boot of this machine, as eight hex digits. Containers on one kernel share it, two machines that share a volume
 * do not, and a restart changes it. `NO_BOOT` if the system does not provide one.
 */
export function bootId(): string {
  known ??= shortened(read());
  return known;
}

function read(): string | null {
  try {
    if (process.platform === "linux") return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    if (process.platform === "darwin")
      return execFileSync("/usr/sbin/sysctl", ["-n", "kern.bootsessionuuid"], { encoding: "utf8" }).trim();
  } catch {
    // A sandbox without it.
  }
  return null;
}

function shortened(id: string | null): string {
  if (id === null || id === "") return NO_BOOT;
  const text = createHash("sha256").update(id).digest("hex").slice(0, NO_BOOT.length);
  return text === NO_BOOT ? "00000001" : text;
}
