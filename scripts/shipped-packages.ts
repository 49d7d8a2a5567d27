import { readFileSync } from "node:fs";
import { BUNDLED_PACKAGES, DASHBOARD_PACKAGES } from "./bundled-packages.ts";

export type Locked = {
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Names;
  readonly optionalDependencies?: Names;
  readonly peerDependencies?: Names;
  readonly peerDependenciesMeta?: { readonly [name: string]: { readonly optional?: boolean } };
};

type Names = { readonly [name: string]: string };

/** Packages whose manifest names no licence, with the name of their licence file. */
const LICENCE_FILES: { readonly [named: string]: string } = { "png-js@2.0.0": "MIT" };

/**
 * The packages a user gets, by their path in the lock file: all dependencies including peers, those whose code is in the
 * build, and their dependencies. The lock file's own marks are not used: a peer that is also installed for development is marked as development only.
 */
export function shippedPackages(): ReadonlyMap<string, Locked> {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    packages: { readonly [path: string]: Locked };
  };
  const shipped = new Map<string, Locked>();
  const waiting = [""];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const locked = packages[path];
    if (locked === undefined || shipped.has(path)) continue;
    shipped.set(path, withLicence(path, locked));
    for (const name of neededBy(path, locked)) {
      const found = foundFrom(path, name).find((place) => Object.hasOwn(packages, place));
      if (found !== undefined) waiting.push(found);
      else if (path === "") throw new Error(`package-lock.json has no ${name}.`);
    }
  }
  shipped.delete("");
  return shipped;
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

function withLicence(path: string, locked: Locked): Locked {
  const license = locked.license ?? LICENCE_FILES[`${nameOf(path)}@${locked.version}`];
  return license === undefined ? locked : { ...locked, license };
}

/** Optional peers of dependencies are not installed; our own are included, since we name them. */
function neededBy(path: string, { peerDependenciesMeta = {}, ...locked }: Locked): readonly string[] {
  const peers = Object.keys(locked.peerDependencies ?? {});
  return [
    ...(path === "" ? [...BUNDLED_PACKAGES, ...DASHBOARD_PACKAGES] : []),
    ...Object.keys(locked.dependencies ?? {}),
    ...Object.keys(locked.optionalDependencies ?? {}),
    ...peers.filter((name) => path === "" || peerDependenciesMeta[name]?.optional !== true),
  ];
}

/** The paths where Node searches for it, nearest first. */
function foundFrom(path: string, name: string): readonly string[] {
  const folders = path === "" ? [] : path.split(/(?:^|\/)node_modules\//).slice(1);
  return Array.from({ length: folders.length + 1 }, (_, count) =>
    [...folders.slice(0, folders.length - count), name].map((each) => `node_modules/${each}`).join("/"),
  );
}
