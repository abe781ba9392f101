import { resourceNotFound } from '../../arm/arm-error.ts';
import type { JsonObject } from '../../arm/json.ts';
import { ok, type Route } from '../../arm/router.ts';
import type { Management, Site } from '../management.ts';

const WEB = '/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Web';

/** The key of the app's functions, which its own endpoints ask for. */
export const APP_KEY = 'key-of-the-double';

/** Apps on Flex Consumption, as those ask who send code to one. */
export function siteRoutes({ cloud, sites }: Management): ReadonlyArray<Route> {
  const find = (group: string, name: string): Site => {
    const site = sites.get(name.toLowerCase());
    if (site === undefined || site.group.toLowerCase() !== group.toLowerCase())
      throw resourceNotFound(`Microsoft.Web/sites/${name}`, group);
    return site;
  };
  return [
    {
      method: 'GET',
      pattern: `${WEB}/sites/{name}`,
      answer: (_request, { group = '', name = '' }) => {
        const site = find(group, name);
        return ok(shown(site, cloud.idOf('Microsoft.Web/serverfarms', site.group, 'asp-nodewright')));
      },
    },
    {
      method: 'GET',
      pattern: `${WEB}/serverfarms/{name}`,
      answer: (_request, { group = '', name = '' }) =>
        ok({
          id: cloud.idOf('Microsoft.Web/serverfarms', group, name),
          name,
          type: 'Microsoft.Web/serverfarms',
          kind: 'functionapp',
          location: cloud.options.region,
          sku: { name: 'FC1', tier: 'FlexConsumption' },
          properties: { reserved: true, provisioningState: 'Succeeded' },
        }),
    },
    {
      method: 'POST',
      pattern: `${WEB}/sites/{name}/host/default/listkeys`,
      answer: (_request, { group = '', name = '' }) => {
        find(group, name);
        return ok({ masterKey: APP_KEY, functionKeys: { default: APP_KEY }, systemKeys: {} });
      },
    },
    {
      method: 'POST',
      pattern: `${WEB}/sites/{name}/config/appsettings/list`,
      answer: (_request, { group = '', name = '' }) => {
        find(group, name);
        return ok({ name: 'appsettings', properties: { FUNCTIONS_EXTENSION_VERSION: '~4' } });
      },
    },
    {
      method: 'GET',
      pattern: `${WEB}/sites/{name}/config/web`,
      answer: (_request, { group = '', name = '' }) => {
        find(group, name);
        return ok({ name: 'web', properties: {} });
      },
    },
    {
      method: 'GET',
      pattern: '/providers/Microsoft.Web/locations/{location}/functionAppStacks',
      answer: () => ok({ value: [] }),
    },
  ];
}

function shown({ id, name, location }: Site, serverFarmId: string): JsonObject {
  const host = `${name}.azurewebsites.net`;
  return {
    id,
    name,
    type: 'Microsoft.Web/sites',
    kind: 'functionapp,linux',
    location,
    properties: {
      state: 'Running',
      enabled: true,
      reserved: true,
      sku: 'FlexConsumption',
      serverFarmId,
      defaultHostName: host,
      hostNames: [host],
      hostNameSslStates: [
        { name: host, sslState: 'Disabled', hostType: 'Standard' },
        { name: `${name}.scm.azurewebsites.net`, sslState: 'Disabled', hostType: 'Repository' },
      ],
      functionAppConfig: { runtime: { name: 'node', version: '24' } },
    },
  };
}
