metadata description = 'A system topic of Event Grid, which delivers as an identity of its own.'

@description('Name of the topic.')
param name string

@description('Tags of the topic.')
param tags { *: string }

@description('Resource id of what the events are about. Azure allows one topic for each pair of source and type.')
param source string

@description('Sort of the topic.')
param topicType string

resource topic 'Microsoft.EventGrid/systemTopics@2025-02-15' = {
  name: name
  location: 'global'
  tags: tags
  identity: {
    type: 'SystemAssigned'
  }
  properties: {
    source: source
    topicType: topicType
  }
}
