metadata description = 'A registry for the relay\'s image, from which the cluster\'s nodes may pull.'

@description('Name of the registry, letters and digits.')
@minLength(5)
@maxLength(50)
param name string

@description('Region of the registry.')
param location string

@description('Tags of the registry.')
param tags { *: string }

@description('Object id of the identity that the cluster\'s nodes pull images with.')
param pullerPrincipalId string

var acrPull = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '7f951dda-4ed3-4680-a7ca-43fe172d538d')

resource registry 'Microsoft.ContainerRegistry/registries@2025-11-01' = {
  name: name
  location: location
  tags: tags
  sku: {
    name: 'Basic'
  }
  properties: {
    adminUserEnabled: false
  }
}

resource puller 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(registry.id, pullerPrincipalId, acrPull)
  scope: registry
  properties: {
    principalId: pullerPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: acrPull
  }
}
