-- Health of a WebApp or PodSet, in either version, for Argo CD. It reads the conditions Ready and Stalled.
local hs = {status = "Progressing", message = "Waiting for the operator."}

if obj.metadata.deletionTimestamp ~= nil then
  hs.message = "Being deleted."
  return hs
end
if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return hs
end

local ready, stalled
for _, condition in ipairs(obj.status.conditions or {}) do
  if condition.type == "Ready" then
    ready = condition
  elseif condition.type == "Stalled" and condition.status == "True" then
    stalled = condition
  end
end

if stalled ~= nil then
  hs.status = "Degraded"
  hs.message = stalled.message
elseif ready ~= nil then
  hs.message = ready.message
  if ready.reason == "Suspended" and ready.status == "True" or ready.reason == "Paused" then
    hs.status = "Suspended"
  elseif ready.status == "True" then
    hs.status = "Healthy"
  end
end
return hs
