/** The wire shape of basicAuth: users with passwords. */
import { Schema } from "effect"
import {
  basic,
  CredentialLocation,
  declared,
  defaulted,
  object,
  required,
  SecretFileOrInline,
  ShortString
} from "../../spec/policy.ts"

export const BasicAuth = object(
  "BasicAuth",
  "Recognises users by name and password. A refusal answers 401 with a challenge.",
  {
    mode: defaulted(Schema.Literals(["strict", "optional"]), "optional", "How strictly credentials are asked for."),
    htpasswd: required(
      SecretFileOrInline,
      "Users with hashed passwords, a line each, in the form of htpasswd: bcrypt, Apache MD5, SHA-1 or crypt."
    ),
    realm: defaulted(ShortString, "Restricted", "Realm of the challenge."),
    authorizationLocation: defaulted(CredentialLocation, basic, "Where the credentials stand.")
  }
)

export const basicAuth = declared(BasicAuth, {
  places: ["gateway", "route", "llm", "ui"],
  decides: "identity",
  admitsAnyone: ({ mode }) => mode !== "strict"
})
