// Makes node_modules what package-lock.json says it should be, and does nothing when it already is.
//
// It runs before anything is installed, so it is plain JavaScript that the host's Node (20 or later)
// understands, and it imports nothing but Node. `node scripts/setup.mjs && npm run -s …` is how to use it:
// the second half has to be an `npm run`, because only that looks up `node` again and finds the one just installed.
//
// "Already is" is a stamp inside node_modules, written after `npm ci` has succeeded and removed before it starts,
// so an install that was killed half-way leaves no stamp and is repeated.

import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const modules = join(root, "node_modules");
const stampFile = join(modules, ".pawl-setup");
const nodeBinary = join(modules, "node", "bin", process.platform === "win32" ? "node.exe" : "node");
const lockFile = join(root, ".setup.lock");
const lockOldAfterMs = 15 * 60_000; // no install takes this long; guards against a process id that was given out again
const takeoverOldAfterMs = 30_000; // held for a few system calls

process.exitCode = await main();

async function main() {
  if (isInstalled()) return 0;
  const token = await lock();
  try {
    if (isInstalled()) return 0; // by the previous holder of the lock
    return await install(token);
  } finally {
    unlock(token);
  }
}

// --- the stamp -----------------------------------------------------------------------------------------------------

function isInstalled() {
  return existsSync(nodeBinary) && readText(stampFile) === wantedStamp();
}

/** What node_modules depends on: the lock file, the dependency fields of package.json, and the kind of machine. */
function wantedStamp() {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { dependencies, devDependencies, optionalDependencies, peerDependencies, overrides, allowScripts } =
    manifest;
  const fields = {
    dependencies,
    devDependencies,
    optionalDependencies,
    peerDependencies,
    overrides,
    allowScripts,
  };
  return createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .update(JSON.stringify(fields))
    .update(`${process.platform} ${process.arch}`)
    .digest("hex");
}

/** @param {string} token */
async function install(token) {
  const why = existsSync(modules)
    ? "node_modules is not what package-lock.json asks for"
    : "node_modules is missing";
  console.log(`Set-up: ${why}. Running npm ci …`);
  rmSync(stampFile, { force: true });
  const stamp = wantedStamp(); // taken before: a lock file that changes meanwhile is noticed the next time
  const started = Date.now();
  const code = await npmCi((npmPid) => noteNpm(token, npmPid));
  if (code !== 0) {
    console.error(
      `Set-up: npm ci failed (${code}). Its output above says why; run the same command again afterwards.`,
    );
    return 1;
  }
  if (!existsSync(nodeBinary)) {
    console.error(
      "Set-up: npm ci did not bring the project's own Node, probably because install scripts are switched off.\n" +
        "Allow them for the package `node` (`npm config get ignore-scripts` should say false) and run this again.",
    );
    return 1;
  }
  mkdirSync(modules, { recursive: true });
  writeWhole(stampFile, stamp);
  console.log(`Set-up: done in ${Math.round((Date.now() - started) / 1000)} s.`);
  return 0;
}

/**
 * @param {(pid: number) => void} onStart
 * @returns {Promise<number | string>} the exit code, or the name of what ended it
 */
function npmCi(onStart) {
  // npm deletes node_modules first, so it must not itself be running on the Node in there.
  const path = (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => !resolve(folder).startsWith(modules));
  const child = spawn("npm", ["ci", "--loglevel=error", "--no-audit", "--no-fund"], {
    cwd: root,
    // The package of the Restate server brings one that reports installations, unless it is told not to.
    env: { ...process.env, SCARF_ANALYTICS: "false", PATH: path.join(delimiter) },
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (child.pid !== undefined) onStart(child.pid);
  // Let npm end first, then release the lock. Ctrl-C reaches npm directly.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  return new Promise((done) => {
    child.on("error", (error) => done(error.message));
    child.on("exit", (code, signal) => done(code ?? signal ?? "killed"));
  });
}

// --- the lock ------------------------------------------------------------------------------------------------------
//
// A file that names its holder: this process, and the npm that it started, which may outlive it. It is stale when
// all of them are gone. Removing a stale lock happens under a second, momentary lock; otherwise two processes that
// both saw the stale one could each remove what the other had just put there.

async function lock() {
  const token = randomUUID();
  let announced = false;
  for (;;) {
    if (createWhole(lockFile, holder(token, [process.pid]))) return token;
    if (isStale(readText(lockFile))) {
      takeOver();
      continue;
    }
    if (!announced) console.log(`Set-up: waiting for another set-up of this folder (${lockFile}).`);
    announced = true;
    await sleep(200);
  }
}

function takeOver() {
  const guard = `${lockFile}.takeover`;
  if (!createWhole(guard, String(process.pid))) {
    if (ageMs(guard) > takeoverOldAfterMs) rmSync(guard, { force: true });
    return;
  }
  try {
    if (isStale(readText(lockFile))) {
      console.log("Set-up: an earlier set-up was killed; removing its lock.");
      rmSync(lockFile, { force: true });
    }
  } finally {
    rmSync(guard, { force: true });
  }
}

/** @param {string | undefined} text the lock's content; undefined when it has just been released */
function isStale(text) {
  if (text === undefined) return false;
  if (ageMs(lockFile) > lockOldAfterMs) return true;
  try {
    const { host, pids } = JSON.parse(text);
    return host === hostname() && !pids.some(isAlive);
  } catch {
    return true; // it is created and replaced whole, so this is not one of ours
  }
}

/** @param {string} token @param {number} npmPid */
function noteNpm(token, npmPid) {
  writeWhole(lockFile, holder(token, [process.pid, npmPid]));
}

/** @param {string} token */
function unlock(token) {
  if (readText(lockFile)?.includes(token)) rmSync(lockFile, { force: true });
}

/** @param {string} token @param {number[]} pids */
function holder(token, pids) {
  return JSON.stringify({ token, host: hostname(), pids });
}

/** @param {number} pid */
function isAlive(pid) {
  // In a container whose first process does not reap children, a killed npm stays in the process table as a zombie.
  if (/^\d+ \(.*\) Z/.test(readText(`/proc/${pid}/stat`) ?? "")) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"; // alive, owned by another user
  }
}

// --- files ---------------------------------------------------------------------------------------------------------

/** @param {string} file */
function readText(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** @param {string} file */
function ageMs(file) {
  const mtimeMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  return mtimeMs === undefined ? 0 : Date.now() - mtimeMs;
}

/** Writes so that a reader sees the old content or the new, never a part. @param {string} file @param {string} text */
function writeWhole(file, text) {
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, text);
  renameSync(temporary, file);
}

/** Like writeWhole, but only if the file is not there. @param {string} file @param {string} text @returns {boolean} */
function createWhole(file, text) {
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, text);
  try {
    linkSync(temporary, file);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}
