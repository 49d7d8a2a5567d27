export {
  type ConformanceDatabase,
  type OpenConformanceDatabase,
  type StoreCheck,
  type StoreOnThread,
  type StoresOfCheck,
  storeConformance,
} from "./store-conformance.ts";
