/** The wrapping that chat formats add to the tokens of their texts: three for the answer's start, four for each message. */
export const chatTokens = (messages: number, textTokens: number): number => 3 + 4 * messages + textTokens
