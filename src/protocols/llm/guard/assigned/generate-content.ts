/** What guards read of Gemini's generateContent. Definitions of tools and the shape of the answer are instructions, like the system prompt. */
import type { Assignments } from "../assignment.ts"
import { errorRows, type Rows, schema, under, underEach } from "./shared.ts"

const media: Rows = {
  "inlineData.mimeType": "choice",
  "inlineData.data": "data",
  "inlineData.displayName": "name",
  "fileData.mimeType": "choice",
  "fileData.fileUri": "address"
}

const parts: Rows = {
  ...media,
  thoughtSignature: "data",
  "videoMetadata.startOffset": "choice",
  "videoMetadata.endOffset": "choice",
  functionCall: "toolInput",
  "functionCall.name": "name",
  "functionCall.id": "id",
  executableCode: "toolInput",
  "executableCode.language": "choice",
  "executableCode.id": "id",
  functionResponse: "toolOutput",
  "functionResponse.name": "name",
  "functionResponse.id": "id",
  "functionResponse.scheduling": "choice",
  ...under("functionResponse.parts[]", media),
  codeExecutionResult: "toolOutput",
  "codeExecutionResult.outcome": "choice",
  "codeExecutionResult.id": "id"
}

/** Parts that are no pieces of a text, wherever parts are. */
const valuesIn = (path: string) => [
  `${path}[].functionCall`,
  `${path}[].executableCode`,
  `${path}[].functionResponse`,
  `${path}[].codeExecutionResult`
]

const request: Assignments = {
  snakeCase: true,
  rows: {
    model: "name",
    systemInstruction: "systemPrompt",
    ...underEach(["contents[]", "systemInstruction"], { role: "choice", ...under("parts[]", parts) }),
    "contents.role": "choice",
    ...under("contents.parts[]", parts),
    tools: "systemPrompt",
    "tools[].functionDeclarations[].name": "name",
    "tools[].functionDeclarations[].behavior": "choice",
    ...underEach(
      ["parameters", "parametersJsonSchema", "response", "responseJsonSchema"].map(
        (member) => `tools[].functionDeclarations[].${member}`
      ),
      schema
    ),
    "toolConfig.functionCallingConfig.mode": "choice",
    "toolConfig.functionCallingConfig.allowedFunctionNames": "name",
    "generationConfig.responseMimeType": "choice",
    "generationConfig.responseModalities": "choice",
    "generationConfig.mediaResolution": "choice",
    "generationConfig.thinkingConfig.thinkingLevel": "choice",
    "generationConfig.imageConfig.aspectRatio": "choice",
    "generationConfig.imageConfig.imageSize": "choice",
    "generationConfig.speechConfig.languageCode": "choice",
    "generationConfig.speechConfig.voiceConfig.prebuiltVoiceConfig.voiceName": "name",
    ...underEach(
      ["responseSchema", "responseJsonSchema"].map((member) => `generationConfig.${member}`),
      {
        "": "systemPrompt",
        ...schema
      }
    ),
    "safetySettings[].category": "choice",
    "safetySettings[].threshold": "choice",
    "safetySettings[].method": "choice",
    cachedContent: "name"
  },
  parts: { "contents[].parts": "\n", "contents.parts": "\n", "systemInstruction.parts": "\n" },
  values: [
    "tools",
    "generationConfig",
    ...valuesIn("contents[].parts"),
    ...valuesIn("contents.parts"),
    ...valuesIn("systemInstruction.parts")
  ],
  signed: ["contents[].parts[thought=true]"]
}

const answer: Assignments = {
  snakeCase: true,
  rows: {
    responseId: "id",
    modelVersion: "name",
    createTime: "id",
    "promptFeedback.blockReason": "choice",
    "usageMetadata.trafficType": "choice",
    ...underEach(
      ["promptTokensDetails", "candidatesTokensDetails", "cacheTokensDetails", "toolUsePromptTokensDetails"].map(
        (member) => `usageMetadata.${member}[]`
      ),
      { modality: "choice" }
    ),
    ...underEach(["promptFeedback.safetyRatings[]", "candidates[].safetyRatings[]"], {
      category: "choice",
      probability: "choice",
      severity: "choice"
    }),
    "candidates[].finishReason": "choice",
    "candidates[].content.role": "choice",
    ...under("candidates[].content.parts[]", parts),
    ...underEach(["candidates[].citationMetadata.citationSources[]", "candidates[].citationMetadata.citations[]"], {
      uri: "address"
    }),
    "candidates[].groundingMetadata.groundingChunks[].web.uri": "address",
    "candidates[].groundingMetadata.groundingChunks[].retrievedContext.uri": "address",
    "candidates[].groundingMetadata.searchEntryPoint.sdkBlob": "data",
    "candidates[].urlContextMetadata.urlMetadata[].retrievedUrl": "address",
    "candidates[].urlContextMetadata.urlMetadata[].urlRetrievalStatus": "choice",
    "candidates[].logprobsResult.chosenCandidates[].token": "token",
    "candidates[].logprobsResult.topCandidates[].candidates[].token": "token",
    ...errorRows
  },
  parts: { "candidates[].content.parts": "\n" },
  values: valuesIn("candidates[].content.parts"),
  signed: ["candidates[].content.parts[thought=true]"],
  positions: { "candidates[]": ["logprobsResult"] }
}

export const generateContent = { request, answer, event: answer, error: { rows: errorRows } }
