metadata description = 'The Functions app on a Flex Consumption plan, and its settings.'

@description('Name of the plan.')
param planName string

@description('Name of the app.')
param name string

@description('Region of both.')
param location string

@description('Tags of both.')
param tags { *: string }

@description('Resource id of the identity that the app acts as.')
param identityId string

@description('Client id of the same.')
param identityClientId string

@description('Where blobs of the host\'s storage account are.')
param hostBlobEndpoint string

@description('The container of the deployed code, in that account.')
param deploymentContainerName string

@description('Where blobs of the account of snapshots, decisions and the catalog are.')
param dataBlobEndpoint string

@description('Host name of the Service Bus namespace.')
param serviceBusNamespace string

@description('Name of the Application Insights component, in this resource group.')
param applicationInsightsName string

@description('Memory of an instance, in MB.')
param instanceMemoryMB int

@description('Instances at most, of all functions together.')
param maximumInstanceCount int

@description('Functions that have an instance waiting; `http` is all those that are called over HTTP.')
param alwaysReadyFunctions string[]

@description('Instances are spread over zones; each function that has one waiting has two then.')
param zoneRedundant bool

@description('The subnet that the app reaches the network through. Empty: the internet.')
param virtualNetworkSubnetId string

@description('The cluster\'s resource group.')
param clusterResourceGroup string

@description('The cluster\'s name.')
param clusterName string

@description('The subnet of the nodes.')
param nodeSubnetResourceId string

@description('Azure\'s GUID of that subnet\'s virtual network; empty: the app reads it.')
param virtualNetworkGuid string

@description('The public SSH key of nodes; empty: the cluster\'s.')
param sshPublicKey string

@description('The disk encryption set of the nodes; empty: they have none.')
param diskEncryptionSetResourceId string

@description('VMs tell Event Grid of their scheduled events: a preview of Azure\'s.')
param scheduledEvents bool

@description('Tags of every VM and network interface that the app makes.')
param nodeTags { *: string }

@description('What prices are read in (ISO 4217).')
param currency string

@description('The namespace of the relay in the cluster, in which the app keeps a Lease.')
param relayNamespace string

@sealed()
@description('Settings of the app that have defaults, by their names: see docs/deploy.md.')
param settings {
  DISRUPTION: string?
  DISRUPT_SCHEDULE: string?
  FEATURE_GATES: string?
  IGNORE_DRA_REQUESTS: string?
  LINUX_ADMIN_USERNAME: string?
  MAINTENANCE_CONFIGURATION_ID: string?
  MIN_VALUES_POLICY: string?
  PREFERENCE_POLICY: string?
  RESERVE_NODES: string?
  SCHEDULER_CONFIG: string?
  SWEEP_SCHEDULE: string?
  VM_MEMORY_OVERHEAD_PERCENT: string?
}

// Those called over HTTP are one group, Event Grid's webhook among them; each other function is a group of its own.
var httpFunctions = [
  'http'
  'health'
  'interruptEventGrid'
]
var readyGroups = [
  for functionName in alwaysReadyFunctions: contains(httpFunctions, functionName) ? 'http' : 'function:${functionName}'
]

resource cluster 'Microsoft.ContainerService/managedClusters@2024-10-01' existing = {
  name: clusterName
  scope: resourceGroup(clusterResourceGroup)
}

var plannedMaintenance = '${cluster.id}/maintenanceConfigurations/aksManagedNodeOSUpgradeSchedule'

resource applicationInsights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: applicationInsightsName
}

resource plan 'Microsoft.Web/serverfarms@2025-03-01' = {
  name: planName
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    tier: 'FlexConsumption'
    name: 'FC1'
  }
  properties: {
    reserved: true
    zoneRedundant: zoneRedundant
  }
}

resource app 'Microsoft.Web/sites@2025-03-01' = {
  name: name
  location: location
  tags: union(tags, {
    'azd-service-name': 'functions'
  })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    virtualNetworkSubnetId: empty(virtualNetworkSubnetId) ? null : virtualNetworkSubnetId
    siteConfig: {
      minTlsVersion: '1.2'
    }
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: '${hostBlobEndpoint}${deploymentContainerName}'
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      runtime: {
        name: 'node'
        version: '24'
      }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
        alwaysReady: [
          for group in union(readyGroups, []): {
            name: group
            instanceCount: zoneRedundant ? 2 : 1
          }
        ]
      }
    }
  }
}

resource noFtp 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = {
  parent: app
  name: 'ftp'
  properties: {
    allow: false
  }
}

resource noBasicScm 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = {
  parent: app
  name: 'scm'
  properties: {
    allow: false
  }
}

// Everything that shared/contract/settings/settings.ts reads but what only sandboxes have; a test compares. An empty setting counts as absent, but for the network's: there it says that the cluster has none.
resource appSettings 'Microsoft.Web/sites/config@2025-03-01' = {
  parent: app
  name: 'appsettings'
  properties: {
    AzureWebJobsStorage__blobServiceUri: hostBlobEndpoint
    AzureWebJobsStorage__credential: 'managedidentity'
    AzureWebJobsStorage__clientId: identityClientId
    APPLICATIONINSIGHTS_CONNECTION_STRING: applicationInsights.properties.ConnectionString
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
    ServiceBus__fullyQualifiedNamespace: serviceBusNamespace
    ServiceBus__credential: 'managedidentity'
    ServiceBus__clientId: identityClientId
    SnapshotStorage__blobServiceUri: dataBlobEndpoint
    AZURE_CLIENT_ID: identityClientId
    AZURE_SUBSCRIPTION_ID: subscription().subscriptionId
    AZURE_RESOURCE_MANAGER_ENDPOINT: environment().name == 'AzureCloud' ? '' : environment().resourceManager
    CLUSTER_NAME: clusterName
    // A private cluster without a private DNS zone is found by its public name, which leads to the private address.
    CLUSTER_ENDPOINT: (cluster.properties.?apiServerAccessProfile.?enablePrivateCluster ?? false)
      ? 'https://${cluster.properties.?privateFQDN ?? cluster.properties.fqdn}:443'
      : 'https://${cluster.properties.fqdn}:443'
    // Of the kubeconfig only the certificate that everybody may know is kept.
    CLUSTER_CA_DATA: split(
      split(
        base64ToString(cluster.listClusterUserCredential().kubeconfigs[0].value),
        'certificate-authority-data: '
      )[1],
      '\n'
    )[0]
    AZURE_NODE_RESOURCE_GROUP: cluster.properties.nodeResourceGroup
    LOCATION: cluster.location
    AZURE_TENANT_ID: subscription().tenantId
    VNET_SUBNET_ID: nodeSubnetResourceId
    VNET_GUID: virtualNetworkGuid
    NODE_OSDISK_DISKENCRYPTIONSET_ID: diskEncryptionSetResourceId
    PRICE_CURRENCY: currency
    SCHEDULED_EVENTS: scheduledEvents ? 'on' : 'off'
    MAINTENANCE_CONFIGURATION_ID: settings.?MAINTENANCE_CONFIGURATION_ID ?? plannedMaintenance
    NETWORK_PLUGIN: cluster.properties.networkProfile.networkPlugin
    NETWORK_PLUGIN_MODE: cluster.properties.networkProfile.?networkPluginMode ?? ''
    NETWORK_POLICY: cluster.properties.networkProfile.?networkPolicy ?? ''
    NETWORK_DATAPLANE: cluster.properties.networkProfile.?networkDataplane ?? ''
    DNS_SERVICE_IP: cluster.properties.networkProfile.dnsServiceIP
    NODE_IDENTITIES: cluster.properties.identityProfile.kubeletidentity.resourceId
    KUBELET_IDENTITY_CLIENT_ID: cluster.properties.identityProfile.kubeletidentity.clientId
    SSH_PUBLIC_KEY: empty(sshPublicKey)
      ? (cluster.properties.?linuxProfile.?ssh.publicKeys[0].keyData ?? '')
      : sshPublicKey
    LINUX_ADMIN_USERNAME: settings.?LINUX_ADMIN_USERNAME ?? cluster.properties.?linuxProfile.?adminUsername ?? ''
    ADDITIONAL_TAGS: join(map(items(nodeTags), tag => '${tag.key}=${tag.value}'), ',')
    SWEEP_SCHEDULE: settings.?SWEEP_SCHEDULE ?? '0 * * * * *'
    DISRUPT_SCHEDULE: settings.?DISRUPT_SCHEDULE ?? '30 * * * * *'
    DISRUPTION: settings.?DISRUPTION ?? 'on'
    NODEWRIGHT_NAMESPACE: relayNamespace
    VM_MEMORY_OVERHEAD_PERCENT: settings.?VM_MEMORY_OVERHEAD_PERCENT ?? ''
    PREFERENCE_POLICY: settings.?PREFERENCE_POLICY ?? ''
    MIN_VALUES_POLICY: settings.?MIN_VALUES_POLICY ?? ''
    FEATURE_GATES: settings.?FEATURE_GATES ?? ''
    SCHEDULER_CONFIG: settings.?SCHEDULER_CONFIG ?? ''
    IGNORE_DRA_REQUESTS: settings.?IGNORE_DRA_REQUESTS ?? ''
    RESERVE_NODES: settings.?RESERVE_NODES ?? ''
  }
}

@description('Name of the app.')
output name string = app.name

@description('Host name of the app.')
output defaultHostName string = app.properties.defaultHostName
