/** Cycles in a graph of files, each as the path back to its first file; at least one for every group of cyclic files. */
export function findCycles(graph: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const cycles: string[][] = [];
  const finished = new Set<string>();
  const path: string[] = [];

  const visit = (file: string): void => {
    const onPath = path.indexOf(file);
    if (onPath !== -1) {
      cycles.push([...path.slice(onPath), file]);
      return;
    }
    if (finished.has(file)) return;
    path.push(file);
    for (const next of graph.get(file) ?? []) visit(next);
    path.pop();
    finished.add(file);
  };

  for (const file of graph.keys()) visit(file);
  return cycles;
}
