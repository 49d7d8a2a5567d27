// Prints the dependencies of the package as a CycloneDX document: `npm run --silent sbom > pawl.cdx.json`.
// It reads only the lock file, so the result is the same everywhere. (`npm sbom --omit dev` leaves out packages that a
// development tool needs as well.)

import { readFileSync } from "node:fs";
import { type Locked, nameOf, shippedPackages } from "./shipped-packages.ts";

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as { name: string; version: string };

console.log(
  JSON.stringify(
    {
      bomFormat: "CycloneDX",
      specVersion: "1.5",
      version: 1,
      metadata: { component: { type: "library", ...identity(manifest.name, manifest.version) } },
      components: [...shippedPackages()].map(([path, locked]) => component(path, locked)),
    },
    null,
    2,
  ),
);

function component(path: string, { version, integrity, license }: Locked) {
  const [algorithm, digest] = integrity?.split("-") ?? [];
  return {
    type: "library",
    ...identity(nameOf(path), version),
    ...(algorithm === "sha512" && digest !== undefined
      ? { hashes: [{ alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") }] }
      : {}),
    ...(license === undefined
      ? {}
      : { licenses: [license.includes(" ") ? { expression: license } : { license: { id: license } }] }),
  };
}

function identity(name: string, version: string) {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return { "bom-ref": purl, name, version, purl };
}
