import { NeedsHuman } from "../../core/errors.ts";

/**
 * Imports an optional peer when it is first needed. Where it is missing a person has to install it (`install` is what to
 * type): nothing was done so far, and the call can go on after that.
 */
export async function loadPackage<T>(tool: string, install: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const name = install.replace(/@[^@]*$/, "");
    throw new NeedsHuman(
      "missing_package",
      `${tool} needs the package "${name}", which could not be loaded: run \`npm install ${install}\` beside pawl.`,
      { cause: error },
    );
  }
}
