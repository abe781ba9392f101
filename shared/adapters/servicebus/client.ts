/**
 * The one place that names the package's exports, so that it can be loaded when first needed: it is CommonJS, and a
 * bundler gives a module of that kind only a default export when it is imported dynamically.
 */
export { ServiceBusClient } from '@azure/service-bus';
