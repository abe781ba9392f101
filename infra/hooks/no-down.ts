import { renderRemoval } from './render-removal.ts';

/**
 * Runs before `azd down` and stops it: azd deletes whole resource groups, and some versions also those in which the deployment
 * only assigned a role, which here is the one with the cluster's own machines. Says what to type instead.
 */
console.error(
  'azd down is stopped: it could delete the resource group of the cluster’s nodes. Remove Nodewright with:\n',
);
console.error(renderRemoval(process.env).join('\n'));
process.exitCode = 1;
