metadata description = 'A private DNS zone for private endpoints, known to the virtual network that they are in.'

@description('Name of the zone.')
param name string

@description('Tags of the zone.')
param tags object

@description('Resource id of the virtual network.')
param virtualNetworkResourceId string

resource zone 'Microsoft.Network/privateDnsZones@2020-06-01' = {
  name: name
  location: 'global'
  tags: tags
}

resource link 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2020-06-01' = {
  parent: zone
  name: uniqueString(virtualNetworkResourceId)
  location: 'global'
  tags: tags
  properties: {
    registrationEnabled: false
    virtualNetwork: {
      id: virtualNetworkResourceId
    }
  }
}
