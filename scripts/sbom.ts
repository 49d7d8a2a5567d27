// Prints what the package comes with as a CycloneDX document: `npm run --silent sbom > pawl.cdx.json`.
// From the lock file alone, so that it says the same everywhere. (`npm sbom --omit dev` leaves out packages that a development
// tool needs as well.)

import { readFileSync } from "node:fs";

type Locked = {
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
};

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as { name: string; version: string };
const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
  packages: { readonly [path: string]: Locked };
};

const shipped = Object.entries(packages).filter(([path, { dev }]) => path !== "" && dev !== true);

console.log(
  JSON.stringify(
    {
      bomFormat: "CycloneDX",
      specVersion: "1.5",
      version: 1,
      metadata: { component: { type: "library", ...identity(manifest.name, manifest.version) } },
      components: shipped.map(([path, locked]) => component(path, locked)),
    },
    null,
    2,
  ),
);

function component(path: string, { version, integrity, license }: Locked) {
  const [algorithm, digest] = integrity?.split("-") ?? [];
  return {
    type: "library",
    ...identity(path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length), version),
    ...(algorithm === "sha512" && digest !== undefined
      ? { hashes: [{ alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") }] }
      : {}),
    ...(license === undefined ? {} : { licenses: [{ license: { id: license } }] }),
  };
}

function identity(name: string, version: string) {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return { "bom-ref": purl, name, version, purl };
}
