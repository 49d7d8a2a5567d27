// A real Chromium for tests, from an npm package: nothing is downloaded, and the host needs no packages of its own.

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { type Browser, chromium as playwright } from "playwright-core";

const root = resolve(import.meta.dirname, "../..");

/**
 * Of the package's own flags only this one: the others switch the same-origin policy off, and run everything in one process,
 * which dies with the first context. Names are not resolved, so that nothing leaves this machine.
 */
const FLAGS = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];

/** `CHROMIUM_PATH` names another Chromium. */
export async function launchChromium(): Promise<Browser> {
  const given = process.env.CHROMIUM_PATH ?? "";
  if (given !== "") return playwright.launch({ executablePath: given, args: FLAGS });
  const folder = await unpackedChromium();
  const libraries = [join(folder, "al2023/lib"), process.env.LD_LIBRARY_PATH ?? ""];
  return playwright.launch({
    executablePath: join(folder, "chromium"),
    args: FLAGS,
    env: {
      ...process.env,
      FONTCONFIG_PATH: join(folder, "fonts"),
      LD_LIBRARY_PATH: libraries.filter((path) => path !== "").join(":"),
    },
  });
}

/**
 * In node_modules, and not in the folder for temporary files, from which a host may refuse to execute anything. A folder has
 * its final name only once it is complete: tests may start side by side, and be killed.
 */
async function unpackedChromium(): Promise<string> {
  const manifest = readFileSync(join(root, "node_modules/@sparticuz/chromium/package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { readonly version: string };
  const cache = join(root, "node_modules/.cache");
  const folder = join(cache, `chromium-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const unpacked = mkdtempSync(`${folder}.`);
  const script = join(import.meta.dirname, "children/unpack-chromium.ts");
  await promisify(execFile)(process.execPath, [script], { env: { ...process.env, TMPDIR: unpacked } });
  pointFontsAt(unpacked, folder);
  try {
    renameSync(unpacked, folder);
  } catch (error) {
    rmSync(unpacked, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/** The package expects its fonts in /tmp. */
function pointFontsAt(unpacked: string, folder: string): void {
  const file = join(unpacked, "fonts/fonts.conf");
  const config = readFileSync(file, "utf8")
    .replaceAll("/tmp/fonts-cache/", join(folder, "fonts-cache"))
    .replaceAll("/tmp/fonts", join(folder, "fonts"));
  writeFileSync(file, config);
}
