/** In the place of a tool's name: any tool. No provider accepts a tool of this name. */
export const ANY_TOOL = "*";
