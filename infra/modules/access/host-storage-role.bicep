metadata description = 'What the Functions host needs of its own storage account: locks of timers, its keys, and the deployed code.'

@description('Name of the storage account, in the resource group that this module is deployed to.')
param accountName string

@description('Object id of the identity that gets it.')
param principalId string

var storageBlobDataOwner = subscriptionResourceId(
  'Microsoft.Authorization/roleDefinitions',
  'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
)

resource account 'Microsoft.Storage/storageAccounts@2024-01-01' existing = {
  name: accountName
}

resource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(account.id, principalId, storageBlobDataOwner)
  scope: account
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: storageBlobDataOwner
  }
}
