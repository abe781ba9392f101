/**
 * The one place that names the package's exports, so that it can be loaded when first needed: on Node it is CommonJS,
 * and a bundler gives a module of that kind only a default export when it is imported dynamically.
 */
export { Document, parseAllDocuments, visit } from 'yaml';
