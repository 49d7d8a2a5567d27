// An empty project with the package as it is published, and everything that the docs import beside it.

import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { packedProject, root, toolsFirst } from "../../package/packed-project.ts";

type Names = { readonly [name: string]: string };

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly [part in "scripts" | "dependencies" | "peerDependencies" | "devDependencies"]: Names;
};

/** The scripts of package.json. */
export const SCRIPTS: readonly string[] = Object.keys(manifest.scripts);

/** All packages that a block may import, apart from Pawl itself. */
export const PACKAGES: readonly string[] = [
  ...new Set(
    [manifest.dependencies, manifest.peerDependencies, manifest.devDependencies].flatMap((each) =>
      Object.keys(each),
    ),
  ),
];

/** Makes the project and returns its folder. */
export async function makeDocsProject(): Promise<string> {
  const project = await packedProject({ packages: PACKAGES });
  const npx = join(project, "node_modules/.bin/npx");
  // npx itself asks the registry for what it does not find here; a test must not.
  writeFileSync(npx, '#!/bin/sh\nif [ "$1" = "-y" ]; then shift; fi\nexec "$@"\n');
  chmodSync(npx, 0o755);
  return project;
}

/** The environment of commands in the project: its own programs first, then those of this repository. */
export function projectEnvironment(project: string): NodeJS.ProcessEnv {
  return {
    ...toolsFirst,
    PATH: [join(project, "node_modules/.bin"), toolsFirst.PATH].join(delimiter),
    NO_COLOR: "1",
  };
}
