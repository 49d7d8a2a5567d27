import { NeedsHuman } from "../../core/errors.ts";

/**
 * Imports an optional peer dependency on first use. If it is missing, a person must install it (`install` is the argument of
 * `npm install`): nothing has been done so far, and the call can continue after that.
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
