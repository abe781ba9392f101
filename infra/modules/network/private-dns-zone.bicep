metadata description = 'A private DNS zone for private endpoints, known to virtual networks: that which they are in, and those that reach them.'

@description('Name of the zone.')
param name string

@description('Tags of the zone.')
param tags { *: string }

@description('Resource ids of the virtual networks.')
param virtualNetworkResourceIds string[]

resource zone 'Microsoft.Network/privateDnsZones@2024-06-01' = {
  name: name
  location: 'global'
  tags: tags
}

resource link 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [
  for networkId in virtualNetworkResourceIds: {
    parent: zone
    name: uniqueString(networkId)
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      virtualNetwork: {
        id: networkId
      }
    }
  }
]
