metadata description = 'The right to read and write blobs, container by container.'

@description('Name of the storage account, in the resource group that this module is deployed to.')
param accountName string

@description('Names of the containers.')
param containerNames string[]

@description('Object id of the identity that gets it.')
param principalId string

var storageBlobDataContributor = subscriptionResourceId(
  'Microsoft.Authorization/roleDefinitions',
  'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
)

resource account 'Microsoft.Storage/storageAccounts@2024-01-01' existing = {
  name: accountName
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2024-01-01' existing = {
  parent: account
  name: 'default'
}

resource container 'Microsoft.Storage/storageAccounts/blobServices/containers@2024-01-01' existing = [
  for containerName in containerNames: {
    parent: blobs
    name: containerName
  }
]

resource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (containerName, index) in containerNames: {
    name: guid(accountName, containerName, principalId, storageBlobDataContributor)
    scope: container[index]
    properties: {
      principalId: principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: storageBlobDataContributor
    }
  }
]
