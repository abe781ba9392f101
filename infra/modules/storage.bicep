metadata description = 'A storage account without keys, and its containers.'

@description('Name of the account, 3 to 24 lower-case letters and digits.')
@minLength(3)
@maxLength(24)
param name string

@description('Region of the account.')
param location string

@description('Tags of the account.')
param tags { *: string }

@description('How often data is kept, and where.')
@allowed([
  'Standard_LRS'
  'Standard_ZRS'
  'Standard_GRS'
  'Standard_GZRS'
])
param sku string

@description('Names of the containers.')
param containers string[]

@description('Rules of the account\'s life cycle; empty: nothing is ever removed.')
param lifecycleRules object[]

@description('May be reached from the internet. Off: by private endpoint only.')
param publicNetworkAccess bool

resource account 'Microsoft.Storage/storageAccounts@2024-01-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: sku
  }
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    isLocalUserEnabled: false
    minimumTlsVersion: 'TLS1_2'
    publicNetworkAccess: publicNetworkAccess ? 'Enabled' : 'Disabled'
    supportsHttpsTrafficOnly: true
    networkAcls: {
      bypass: 'None'
      defaultAction: publicNetworkAccess ? 'Allow' : 'Deny'
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2024-01-01' = {
  parent: account
  name: 'default'
  properties: {
    deleteRetentionPolicy: {
      enabled: true
      days: 7
    }
    containerDeleteRetentionPolicy: {
      enabled: true
      days: 7
    }
  }
}

resource container 'Microsoft.Storage/storageAccounts/blobServices/containers@2024-01-01' = [
  for containerName in containers: {
    parent: blobs
    name: containerName
    properties: {
      publicAccess: 'None'
    }
  }
]

resource lifecycle 'Microsoft.Storage/storageAccounts/managementPolicies@2024-01-01' = if (!empty(lifecycleRules)) {
  parent: account
  name: 'default'
  properties: {
    policy: {
      rules: lifecycleRules
    }
  }
}

@description('Resource id of the account.')
output id string = account.id

@description('Name of the account.')
output name string = account.name

@description('Where blobs are: https://….')
output blobEndpoint string = account.properties.primaryEndpoints.blob
